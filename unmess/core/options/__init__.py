"""What users choose from: names, targets, dynamic dimensions."""

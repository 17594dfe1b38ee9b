"""Options that users choose: names, targets, dynamic dimensions."""

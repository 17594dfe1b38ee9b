# Sourced by pixi when it activates the environment: links the checkout into it
# where that has not been done, was done for another place, or by another pixiw.
unmess_pth="$CONDA_PREFIX/lib/python3.11/site-packages/unmess.pth"
unmess_root=
if [ -r "$unmess_pth" ]; then
    IFS= read -r unmess_root <"$unmess_pth"
fi
if [ "$unmess_root" != "$PIXI_PROJECT_ROOT" ] || [ "$PIXI_PROJECT_ROOT/pixiw" -nt "$unmess_pth" ]; then
    "$CONDA_PREFIX/bin/python" "$PIXI_PROJECT_ROOT/pixiw" link
fi
unset unmess_pth unmess_root

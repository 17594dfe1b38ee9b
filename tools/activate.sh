# Sourced by pixi when it activates the environment: links the checkout into it
# where that has not been done, was done for another place, or by another pixiw.
unmess_root="${PIXI_PROJECT_ROOT:-$PWD}"
unmess_pth="$CONDA_PREFIX/lib/python3.11/site-packages/unmess.pth"
unmess_linked=
if [ -r "$unmess_pth" ]; then
    IFS= read -r unmess_linked <"$unmess_pth"
fi
if [ "$unmess_linked" != "$unmess_root" ] || [ "$unmess_root/pixiw" -nt "$unmess_pth" ]; then
    "$CONDA_PREFIX/bin/python" "$unmess_root/pixiw" link
fi
unset unmess_root unmess_pth unmess_linked

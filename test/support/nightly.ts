/** The nightly run (`npm run test:nightly`) uses full lengths, the suite shorter ones that show the same. */
export function atLength<T>(inSuite: T, atNight: T): T {
  return process.env.VIDEOGEN_NIGHTLY ? atNight : inSuite;
}

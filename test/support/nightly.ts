/** `npm run test:nightly` does at full length what the suite does at a length that shows the same. */
export function atLength<T>(inSuite: T, atNight: T): T {
  return process.env.VIDEOGEN_NIGHTLY ? atNight : inSuite;
}

import setUpServers from '../support/global-setup';
import { installPackages } from './install';

/** Installs the packages of the AI SDK, and finds what the tests with a server need. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalSetup(): Promise<void> {
  await installPackages();
  // Set if the project `server` runs too.
  if (process.env.VIDEOGEN_TEST_BUNDLE === undefined) await setUpServers();
}

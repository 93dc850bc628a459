import setUpServers from '../../support/global-setup';

/** The same as for the other tests with a server, whose setup has run already if they run too. */
// biome-ignore lint/style/noDefaultExport: jest requires a default export here.
export default async function globalSetup(): Promise<void> {
  if (process.env.VIDEOGEN_TEST_BUNDLE === undefined) await setUpServers();
}

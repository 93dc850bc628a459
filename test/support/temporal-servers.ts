import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version as sdkVersion } from '@temporalio/testing/package.json';
import { readServerOptions } from '../../src/config/temporal-config';
import { findDevServer, findTestServer, type ServerOptions } from '../../src/temporal-server';
import { findOnSearchPath, runTool } from '../../src/temporal-server/child-process';
import { buildOnce, requireOnSearchPath } from './build-once';

/** Ten times what it takes. */
const MAVEN_TIMEOUT_MS = 10 * 60_000;

/** Finds both servers, and has this process and those that it starts use them. */
export async function useTestServers(): Promise<void> {
  const server = {
    ...readServerOptions(process.env),
    onProgress: (line: string) => process.stderr.write(`${line}\n`),
  };
  process.env.VIDEOGEN_TEMPORAL_CLI = await findDevServer(server);
  process.env.VIDEOGEN_TEST_SERVER = await findTestServerForTests(server);
}

const WITH_MAVEN =
  'Where it cannot be downloaded, the tests have Maven get it, and Java run it: put mvn and java on PATH.';

/** The test server: its jars, which every package mirror has, where there are Java and Maven; otherwise as people get it. */
async function findTestServerForTests(options: ServerOptions): Promise<string> {
  if (options.testServer !== undefined) return findTestServer(options);
  const needed = ['java', 'mvn'].map((name) => findOnSearchPath(name, options.searchPath));
  if ((await Promise.all(needed)).includes(undefined)) {
    return findTestServer(options).catch((error: unknown) => {
      throw new Error(`${error}\n${WITH_MAVEN}`);
    });
  }
  return mavenTestServer(options).catch((error: unknown) => {
    options.onProgress?.(`Maven did not get the test server (${error}).`);
    return findTestServer(options);
  });
}

// The SDK waits five seconds for the server to answer; these options halve the JVM's start-up.
const WRAPPER = `#!/bin/sh
LIB="\${0%/*}/lib"
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$LIB/*" io.temporal.testserver.TestServer "$@"
`;

/** Of all jars that Maven gets for the pinned version, which brings their versions: change both together. */
const JARS_SHA256 = 'e19a159f3abd3fd3a7451a5b8d51281338d1629ee44149c14b1762bef0dc25eb';

async function digestOf(folder: string): Promise<string> {
  const digest = createHash('sha256');
  for (const name of (await readdir(folder)).sort())
    digest.update(name).update(await readFile(join(folder, name)));
  return digest.digest('hex');
}

/** A script that runs the test server's jars, which Maven has put next to it. */
async function mavenTestServer({ cacheFolder, searchPath, onProgress }: ServerOptions): Promise<string> {
  const pom = join(__dirname, 'test-server', 'pom.xml');
  const pinned = /temporal-test-server<\/artifactId>\s*<version>([^<]+)/.exec(
    await readFile(pom, 'utf8'),
  )?.[1];
  const program = 'temporal-test-server';
  const name = `${program}-${pinned}-sdk-${sdkVersion}-${process.platform}-${process.arch}`;
  const made = await buildOnce(cacheFolder, name, async (folder) => {
    onProgress?.('Getting the time-skipping test server with Maven: about a minute, once.');
    await copyFile(pom, join(folder, 'pom.xml'));
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`];
    await runTool(await requireOnSearchPath('mvn', searchPath), ['--batch-mode', '--quiet', ...goal], {
      cwd: folder,
      searchPath,
      timeoutMs: MAVEN_TIMEOUT_MS,
    });
    const found = await digestOf(join(folder, 'lib'));
    if (found !== JARS_SHA256) throw new Error(`the jars have the SHA-256 ${found}, not ${JARS_SHA256}`);
    await writeFile(join(folder, program), WRAPPER, { mode: 0o755 });
  });
  return join(made, program);
}

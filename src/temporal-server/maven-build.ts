import { copyFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from './run-tool';

// Ten times what a first download of 38 MB took.
const MAVEN_TIMEOUT_MS = 10 * 60_000;

// The SDK waits five seconds for the server to answer; these options halve the JVM's start-up.
const WRAPPER = `#!/bin/sh
LIB="\${0%/*}/lib"
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$LIB/*" io.temporal.testserver.TestServer "$@"
`;

export interface MavenBuild {
  readonly mvn: string;
  readonly searchPath?: string | undefined;
  /** The folder whose pom.xml pins the jars. */
  readonly recipe: string;
  readonly signal?: AbortSignal | undefined;
}

/** Downloads the test server's jars next to `target` and writes a script that runs them to `target`. */
export async function buildWithMaven(
  { mvn, searchPath, recipe, signal }: MavenBuild,
  target: string,
): Promise<void> {
  const folder = dirname(target);
  // Maven writes next to its pom, and an installed package may be read-only.
  await copyFile(join(recipe, 'pom.xml'), join(folder, 'pom.xml'));
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`];
  await runTool(mvn, ['--batch-mode', '--quiet', ...goal], {
    cwd: folder,
    searchPath,
    timeoutMs: MAVEN_TIMEOUT_MS,
    signal,
  });
  await writeFile(target, WRAPPER, { mode: 0o755 });
}

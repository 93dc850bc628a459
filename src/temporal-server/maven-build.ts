import { copyFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from './run-tool';

// Ten times what 38 MB took with nothing downloaded before.
const MAVEN_TIMEOUT_MS = 10 * 60_000;

// The SDK gives the server five seconds to answer; a JVM that compiles little and collects simply is up in half.
const WRAPPER = `#!/bin/sh
LIB="\${0%/*}/lib"
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$LIB/*" io.temporal.testserver.TestServer "$@"
`;

export interface MavenBuild {
  readonly mvn: string;
  readonly searchPath?: string | undefined;
  /** The folder whose pom.xml pins the jars. */
  readonly recipe: string;
}

/** Puts the test server's jars beside `target`, which becomes a script that runs them. */
export async function buildWithMaven({ mvn, searchPath, recipe }: MavenBuild, target: string): Promise<void> {
  const folder = dirname(target);
  // Maven wants to write beside its pom, and an installed package may be read-only.
  await copyFile(join(recipe, 'pom.xml'), join(folder, 'pom.xml'));
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`];
  await runTool(mvn, ['--batch-mode', '--quiet', ...goal], {
    cwd: folder,
    searchPath,
    timeoutMs: MAVEN_TIMEOUT_MS,
  });
  await writeFile(target, WRAPPER, { mode: 0o755 });
}

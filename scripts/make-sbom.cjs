/**
 * Prints what the package brings into a project, as CycloneDX: `npm run sbom`. npm's own `--omit dev` leaves out what our
 * tools need too, such as zod.
 */
const { execSync } = require('node:child_process');

const OF_OUR_TOOLS = 'cdx:npm:package:development';

const printed = execSync('npm sbom --package-lock-only --sbom-format cyclonedx', {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const { components, dependencies, ...rest } = JSON.parse(printed);
const brought = components.filter(({ properties }) => !properties.some(({ name }) => name === OF_OUR_TOOLS));
const refs = new Set([rest.metadata.component, ...brought].map((component) => component['bom-ref']));
const among = dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => refs.has(name)) }));
process.stdout.write(`${JSON.stringify({ ...rest, components: brought, dependencies: among }, null, 2)}\n`);

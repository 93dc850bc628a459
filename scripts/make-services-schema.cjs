/** Writes services.schema.json, so that editors complete and check files of services: `npm run schema`. */
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { servicesJsonSchema } = require('../dist/src/config/services-file');

writeFileSync(
  join(__dirname, '../services.schema.json'),
  `${JSON.stringify(servicesJsonSchema(), null, 2)}\n`,
);

/** Writes profile.schema.json, so that editors complete and check profiles: `npm run schema`. */
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { profileJsonSchema } = require('../dist/src/service/profile');

writeFileSync(join(__dirname, '../profile.schema.json'), `${JSON.stringify(profileJsonSchema(), null, 2)}\n`);

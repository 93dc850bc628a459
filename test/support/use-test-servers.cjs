// Lets a program without jest use the servers that the tests use.
require('./run-typescript.cjs');

module.exports = require('./temporal-servers').useTestServers;

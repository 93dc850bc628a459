import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { describeServiceContract } from '../support/service-contract';

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator({ jobTimeMs: 500, videoBytes: 64 * 1024 });
});
afterAll(() => emulator.close());

describe('the emulator', () => describeServiceContract(() => emulator));

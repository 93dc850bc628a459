import type { Emulator } from '../testing/emulator';
import type { RecordedCall } from '../testing/emulator-options';

/** Describes each call to an emulator with the tasks that it made, so that a lost task can be found. */
export function callDescriber(emulator: Emulator): (call: RecordedCall) => string {
  let described = emulator.generations().length;
  return ({ method, path, status }) => {
    const made = emulator.generations().slice(described);
    described += made.length;
    const tasks = made.map((task) => `, created ${emulator.idOf(task)}`).join('');
    return `${method} ${path}: ${status ?? 'no answer'}${tasks}`;
  };
}

import { showError } from './words.mjs';

const dialog = document.querySelector('#key-dialog');
const form = document.querySelector('#key-form');
const input = document.querySelector('#key');
const error = document.querySelector('#key-error');

/** Asks for a gateway key. Resolves with undefined when the person has none. */
export function askInDialog(isWrong) {
  return new Promise((resolve) => {
    const finish = (key) => {
      form.onsubmit = null;
      dialog.onclose = null;
      dialog.close();
      input.value = '';
      resolve(key);
    };
    showError(error, isWrong && 'The gateway refused this key. Try another.');
    input.setAttribute('aria-invalid', String(isWrong));
    form.onsubmit = (event) => {
      event.preventDefault();
      const key = input.value.trim();
      if (key !== '') finish(key);
    };
    dialog.onclose = () => finish(undefined);
    document.querySelector('#key-later').onclick = () => dialog.close();
    dialog.showModal();
    input.focus();
  });
}

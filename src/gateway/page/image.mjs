import { post } from './calls.mjs';

/** The image of the form: a file that is dropped or chosen is uploaded, and its address goes into the field. */

const field = document.querySelector('#image_url');
const drop = document.querySelector('#drop');
const chooser = document.querySelector('#image-file');
const dropped = document.querySelector('#dropped');
const picture = document.querySelector('#dropped-picture');
const note = document.querySelector('#image-note');

const MEGABYTE = 1024 * 1024;

export function setUpImage({ largestImageBytes }, showError) {
  /** The upload under way or done; undefined without a file. */
  let upload;

  function forget() {
    upload = undefined;
    URL.revokeObjectURL(picture.src);
    picture.removeAttribute('src');
    chooser.value = '';
    note.textContent = '';
    dropped.hidden = true;
    drop.classList.remove('has-image');
  }

  function show(file) {
    forget();
    picture.src = URL.createObjectURL(file);
    document.querySelector('#dropped-name').textContent = file.name;
    dropped.hidden = false;
    drop.classList.add('has-image');
  }

  async function send(file) {
    note.textContent = 'Uploading the image…';
    const { url } = await post('v1/images', {
      body: file,
      type: file.type || 'application/octet-stream',
    });
    return url;
  }

  function take(file) {
    showError(undefined);
    field.value = '';
    if (file.size > largestImageBytes) {
      return showError(`The image must be at most ${largestImageBytes / MEGABYTE} MB.`);
    }
    show(file);
    const mine = send(file);
    upload = mine;
    mine.then(
      (url) => {
        if (upload !== mine) return;
        field.value = url;
        note.textContent = 'The image is uploaded.';
      },
      (error) => {
        if (upload !== mine) return;
        forget();
        showError(explain(error));
      },
    );
  }

  chooser.addEventListener('change', () => chooser.files[0] && take(chooser.files[0]));
  // A person who types an address wants that one.
  field.addEventListener('input', forget);
  document.querySelector('#remove-image').addEventListener('click', () => {
    forget();
    field.value = '';
    chooser.focus();
  });
  for (const type of ['dragenter', 'dragover', 'dragleave', 'drop']) {
    drop.addEventListener(type, (event) => {
      event.preventDefault();
      drop.classList.toggle('is-over', type === 'dragenter' || type === 'dragover');
    });
  }
  drop.addEventListener('drop', ({ dataTransfer }) => {
    const [file] = dataTransfer.files;
    if (file) take(file);
  });
  // A file beside the target must not replace the page.
  for (const type of ['dragover', 'drop']) window.addEventListener(type, (event) => event.preventDefault());

  return {
    forget,
    /** The address of the image when it is uploaded; undefined without a file. Throws what `upload` failed with. */
    uploaded: async () => upload,
  };
}

function explain(error) {
  if (error.status === 404) return 'This gateway takes no image files. Give the URL of the image instead.';
  return [error.message, error.advice].filter(Boolean).join(' ');
}

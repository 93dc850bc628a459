import { findPythonWith } from './python-packages';

export { PYTHON_TIMEOUT_MS } from './python-packages';

/** A Python with Temporal's SDK. */
export const findPythonClient = (env = process.env) => findPythonWith('temporalio', 'requirements.txt', env);

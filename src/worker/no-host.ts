/** The bundler resolves this module to the host's workflows; see bundle.ts. */
export {};

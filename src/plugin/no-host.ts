/** Stands where the plugin puts the workflows of a host when it bundles them with ours. */
export {};

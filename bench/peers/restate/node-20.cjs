/** Restate's SDK calls this function of Node 22; the bench runs on Node 20 too. */
Promise.withResolvers ??= () => {
  const withResolvers = {};
  withResolvers.promise = new Promise((resolve, reject) => Object.assign(withResolvers, { resolve, reject }));
  return withResolvers;
};

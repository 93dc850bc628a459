import { firstThatWorks, SearchStopped } from '../../src/temporal-server/first-that-works';

it('tries no further source once the search is stopped', async () => {
  const stop = new AbortController();
  const tried: string[] = [];
  const sourceOf = (name: string) => ({
    name,
    get: async () => {
      tried.push(name);
      stop.abort();
      throw new Error('stopped');
    },
  });
  const search = firstThatWorks({ what: 'server', fix: 'Install one.', signal: stop.signal }, [
    sourceOf('wheel'),
    sourceOf('go'),
  ]);
  await expect(search).rejects.toThrow(SearchStopped);
  expect(tried).toEqual(['wheel']);
});

import { accountName, isLedgerEntry } from '../../src/contract/ledger';

const usd = { amount: 1, currency: 'USD' };
const day = { scope: 'day', limits: [{ unit: 'videos', limit: 3 }] };
const batch = { scope: 'batch', name: 'foxes', limits: [] };
const entry = { kind: 'reserve', id: 'submit-1', holder: 'attempt-1', accounts: [day] };

describe('a ledger accepts an entry', () => {
  it.each([
    {},
    { kind: 'release' },
    { kind: 'settle' },
    { id: 'x'.repeat(80), holder: 'y'.repeat(80) },
    { isRetry: true },
    { accounts: [day, batch, { ...batch, scope: 'key' }, { ...batch, name: 'x'.repeat(100) }] },
    { seconds: 5, cost: usd },
    { isRetry: null, seconds: null, cost: null },
    { accounts: [{ ...day, name: null }] },
  ])('with %j', (more) => {
    expect(isLedgerEntry({ ...entry, ...more })).toBe(true);
  });
});

describe('a ledger refuses an entry', () => {
  it.each([
    { kind: 'pay' },
    { id: '' },
    { id: 'x'.repeat(81) },
    { id: 7 },
    { id: ['x'] },
    { holder: '' },
    { holder: undefined },
    { isRetry: 'yes' },
    { accounts: [] },
    { accounts: 'day' },
    { accounts: undefined },
    { accounts: Array(7).fill(batch) },
    { accounts: [day, {}] },
    { accounts: [null] },
    { seconds: -1 },
    { seconds: '5' },
    { cost: 1 },
  ])('with %j', (wrong) => {
    expect(isLedgerEntry({ ...entry, ...wrong })).toBe(false);
  });

  it.each([
    { ...day, name: 'foxes' },
    { ...day, scope: 'job' },
    { ...batch, scope: 'job' },
    { ...batch, name: undefined },
    { ...batch, name: 5 },
    { ...batch, name: 'x'.repeat(101) },
    { ...batch, scope: 'key', name: undefined },
    { ...batch, limits: undefined },
    { ...batch, limits: Array(7).fill(day.limits[0]) },
  ])('in the account %j', (account) => {
    expect(isLedgerEntry({ ...entry, accounts: [account] })).toBe(false);
  });

  it.each([undefined, null, 'reserve', 5, []])('that is %p', (value) => {
    expect(isLedgerEntry(value)).toBe(false);
  });
});

describe('a limit in an account', () => {
  const accepts = (limit: unknown) => isLedgerEntry({ ...entry, accounts: [{ ...day, limits: [limit] }] });

  it.each([
    { unit: 'videos', limit: 0 },
    { unit: 'seconds', limit: 2.5 },
    { unit: 'money', limit: 1, currency: 'USD' },
  ])('is %j', (limit) => {
    expect(accepts(limit)).toBe(true);
  });

  it.each([
    [undefined],
    ['3 videos'],
    [{ unit: 'videos', limit: -1 }],
    [{ unit: 'videos', limit: 2.5 }],
    [{ unit: 'seconds', limit: '5' }],
    [{ unit: 'money', limit: 1 }],
    [{ unit: 'foxes', limit: 1 }],
  ])('is not %j', (limit) => {
    expect(accepts(limit)).toBe(false);
  });
});

describe('the name of an account', () => {
  it('is that of the batch if it is short', () => {
    expect(accountName('foxes')).toBe('foxes');
    expect(accountName('x'.repeat(98))).toBe('x'.repeat(98));
    expect(accountName('狐'.repeat(32))).toBe('狐'.repeat(32));
  });

  it('begins as a long name does, with a digest at its end', () => {
    expect(accountName(`red foxes "${'x'.repeat(99)}`)).toMatch(/^red foxes _x{39}…[0-9a-f]{32}$/);
    expect(accountName(`fox\\${'狐'.repeat(40)}`)).toMatch(/^fox__{40}…[0-9a-f]{32}$/);
  });

  it('fits into the ledger, and different names stay different', () => {
    const names = ['a', 'b'].flatMap((end) => ['x', '狐', '"', '\u0001'].map((one) => one.repeat(99) + end));
    const shortened = names.map(accountName);
    expect(new Set(shortened).size).toBe(names.length);
    for (const name of shortened)
      expect(isLedgerEntry({ ...entry, accounts: [{ ...batch, name }] })).toBe(true);
  });
});

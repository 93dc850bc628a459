import { accountName, isCap, isLedgerEntry } from '../../src/contract/ledger';

const usd = { amount: 1, currency: 'USD' };
const day = { scope: 'day', cap: { videos: 3 } };
const batch = { scope: 'batch', name: 'foxes', cap: {} };
const entry = { kind: 'reserve', id: 'submit-1', holder: 'attempt-1', accounts: [day] };

describe('a ledger accepts an entry', () => {
  it.each([
    {},
    { kind: 'release' },
    { kind: 'settle', charged: usd },
    { id: 'x'.repeat(80), holder: 'y'.repeat(80) },
    { repeats: 'attempt' },
    { repeats: 'lost-submit' },
    { accounts: [day, batch, { ...batch, scope: 'key' }, { ...batch, name: 'x'.repeat(100) }] },
    { seconds: 5, cost: usd },
    { repeats: null, seconds: null, cost: null, charged: null },
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
    { repeats: 'all' },
    { accounts: [] },
    { accounts: 'day' },
    { accounts: undefined },
    { accounts: [day, batch, batch, batch, batch] },
    { accounts: [day, {}] },
    { accounts: [null] },
    { seconds: -1 },
    { seconds: '5' },
    { cost: 1 },
    { charged: { amount: 1 } },
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
    { ...batch, cap: undefined },
    { ...day, cap: { videos: -1 } },
  ])('in the account %j', (account) => {
    expect(isLedgerEntry({ ...entry, accounts: [account] })).toBe(false);
  });

  it.each([undefined, null, 'reserve', 5, []])('that is %p', (value) => {
    expect(isLedgerEntry(value)).toBe(false);
  });
});

describe('a cap in an input', () => {
  it.each([
    {},
    { videos: 3 },
    { seconds: 2.5 },
    { money: usd },
    { videos: 0, seconds: 0, money: { ...usd, amount: 0 } },
    { videos: null, seconds: null, money: null },
  ])('is %j', (cap) => {
    expect(isCap(cap)).toBe(true);
  });

  it.each([
    [undefined],
    [null],
    ['3 videos'],
    [3],
    [{ videos: 2.5 }],
    [{ videos: '3' }],
    [{ seconds: -1 }],
    [{ money: 5 }],
    [{ videos: 3, seconds: 5, money: { amount: 1 } }],
    [{ videos: 3, seconds: '5', money: usd }],
    [{ videos: -3, seconds: 5, money: usd }],
  ])('is not %j', (cap) => {
    expect(isCap(cap)).toBe(false);
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

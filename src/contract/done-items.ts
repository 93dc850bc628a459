/** Four items of a batch for each digit, which is hexadecimal. */
const ITEMS_OF_A_DIGIT = 4;

/**
 * The numbers of items, counted from 1, as text of one digit for four of them: a million of them, in whatever order they
 * were done, go through Temporal in 250 kB.
 */
export function packItems(items: Iterable<number>): string {
  const digits: number[] = [];
  for (const item of items) {
    const { digit, bit } = placeOf(item);
    while (digits.length <= digit) digits.push(0);
    digits[digit] = (digits[digit] ?? 0) | bit;
  }
  return digits.map((digit) => digit.toString(16)).join('');
}

export function isPacked(packed: string, item: number): boolean {
  const { digit, bit } = placeOf(item);
  return (Number.parseInt(packed.charAt(digit) || '0', 16) & bit) !== 0;
}

function placeOf(item: number): { digit: number; bit: number } {
  const index = item - 1;
  return { digit: Math.floor(index / ITEMS_OF_A_DIGIT), bit: 1 << (index % ITEMS_OF_A_DIGIT) };
}

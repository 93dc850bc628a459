import { shown } from '../../contract/clean-text';
import { describeMoney, type Money } from '../../contract/money';
import { type Column, type Piece, tableLines } from '../text-columns';
import type { Division, SpendGroup, Spending } from './spend-book';

const TOTAL = 'total';

/** A table for people: a line for each group, and the sums. */
export function spendTable(
  division: Division,
  groups: readonly SpendGroup[],
  total: Spending,
  width: number,
): Piece[][] {
  const rows = groups.length > 1 ? [...groups, { name: TOTAL, ...total }] : groups;
  return tableLines(columnsFor(division), rows, width);
}

function columnsFor(division: Division): Column<SpendGroup>[] {
  return [
    {
      title: division.toUpperCase(),
      text: ({ name }) => shown(name),
      leastWidth: 10,
    },
    { title: 'VIDEOS', text: ({ videos }) => String(videos) },
    { title: 'CHARGED', text: ({ charged }) => amounts(charged) },
    { title: 'ESTIMATED', text: ({ estimated }) => amounts(estimated) },
    {
      title: 'UNKNOWN',
      text: ({ unknown }) => (unknown === 0 ? '' : String(unknown)),
    },
  ];
}

const amounts = (sums: readonly Money[]) => sums.map(describeMoney).join(' + ');

/** The answer in sentences: how much, and what is not in it. */
export function spendSentence({ videos, charged, estimated, unknown }: Spending): string {
  const known = [
    charged.length > 0 && `${amounts(charged)} charged`,
    estimated.length > 0 && `${amounts(estimated)} estimated`,
  ].filter(Boolean);
  const sums = known.length === 0 ? 'no known cost' : known.join(' and ');
  const rest =
    unknown === 0 ? '' : ` ${videosText(unknown)} of unknown cost ${unknown === 1 ? 'is' : 'are'} in no sum.`;
  return `${videosText(videos)}: ${sums}.${rest}`;
}

const videosText = (count: number) => (count === 1 ? '1 video' : `${count} videos`);

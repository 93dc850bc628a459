export function chooseHistories(
  folder: string,
  stories: string[],
  names: string[],
): { chosen?: string[]; problem?: string };

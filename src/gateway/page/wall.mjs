import { stillOf } from './stills.mjs';
import { factsLine, fillIds, labelOf, stateOf } from './words.mjs';

/** Recent videos as tiles. A tile is made once and then updated, so that the focus stays where it is. */

const wall = document.querySelector('#wall');
const template = document.querySelector('#tile');
const tiles = new Map();
const videoOf = new WeakMap();

/** Stills are loaded for what can be seen, or almost. */
const inView = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      inView.unobserve(target);
      void showStill(target);
    }
  },
  { rootMargin: '200px' },
);

export function showWall(videos, facts, { selected, onAgain }) {
  const now = videos.map((video) => {
    const tile = tiles.get(video.id) ?? newTile(video, onAgain);
    update(tile, video, facts, video.id === selected);
    return tile;
  });
  const stays = new Set(now);
  for (const [id, tile] of tiles) {
    if (stays.has(tile)) continue;
    tile.remove();
    tiles.delete(id);
  }
  // Moving a tile that is in its place would take the focus from it.
  now.forEach((tile, index) => {
    if (wall.children[index] !== tile) wall.insertBefore(tile, wall.children[index] ?? null);
  });
}

function newTile(video, onAgain) {
  const tile = template.content.firstElementChild.cloneNode(true);
  tiles.set(video.id, tile);
  tile.querySelector('button').addEventListener('click', () => onAgain(videoOf.get(tile)));
  tile.querySelector('a').href = `#${video.id}`;
  return tile;
}

function update(tile, video, facts, isSelected) {
  const before = videoOf.get(tile);
  videoOf.set(tile, video);
  const link = tile.querySelector('a');
  if (isSelected) link.setAttribute('aria-current', 'true');
  else link.removeAttribute('aria-current');
  if (JSON.stringify(before) === JSON.stringify(video) && tile.dataset.ui === String(facts.workflowUrl))
    return;
  tile.dataset.state = stateOf(video);
  tile.dataset.ui = String(facts.workflowUrl);
  const prompt = video.prompt ?? 'Without a prompt';
  link.setAttribute('aria-label', `${labelOf(video)}: ${prompt}`);
  tile.querySelector('.state').textContent = labelOf(video);
  tile.querySelector('.prompt').textContent = prompt;
  tile.querySelector('.tile-facts').textContent = factsLine(video);
  const again = tile.querySelector('button');
  again.setAttribute('aria-label', `${again.textContent}: ${prompt}`);
  tile.querySelector('summary').setAttribute('aria-label', `Ids of ${prompt}`);
  fillIds(tile.querySelector('dl'), video, facts);
  if (before?.video?.sha256 !== video.video?.sha256) inView.observe(tile);
}

async function showStill(tile) {
  const url = await stillOf(videoOf.get(tile));
  if (url === undefined) return;
  const picture = tile.querySelector('img');
  picture.src = url;
  picture.hidden = false;
}

export interface Still {
  /** A file in the folder of the page. */
  file: string;
  caption: string;
  seconds?: number;
}

/** The time of the still, unless the shot is shorter. */
const STILL_AT_SECONDS = 1;

/** A page with a still of each shot. The browser decodes the stills, so no decoder is needed here. */
export function posterPage(stills: Still[]): string {
  return `<!doctype html>
<meta charset="utf-8">
<title>Poster</title>
<style>
  body { margin: 0; padding: 24px; background: #111; color: #eee; font: 16px/1.4 sans-serif; }
  main { display: grid; grid-template-columns: repeat(3, 1fr); gap: 24px; }
  figure { margin: 0; }
  video { width: 100%; display: block; }
  figcaption { padding-top: 8px; }
</style>
<main>
${stills.map(figure).join('\n')}
</main>
`;
}

function figure({ file, caption, seconds = Number.POSITIVE_INFINITY }: Still): string {
  const at = Math.min(STILL_AT_SECONDS, seconds / 2);
  return `  <figure>
    <video src="${encodeURIComponent(file)}#t=${at}" preload="auto" muted playsinline></video>
    <figcaption>${escaped(caption)}</figcaption>
  </figure>`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

import { type FormEvent, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useVideo } from './use-video';

async function post(path: string, body: object = {}) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.error.message);
  return json;
}

function Progress({ gateway, id }: { gateway: string; id: string }) {
  const { video, src, problem, renew } = useVideo(gateway, id, (video) => post(`/videos/${video}/token`));
  if (!video) return <p>{problem ?? 'Connecting…'}</p>;
  return (
    <section aria-live="polite">
      <p>
        {video.status.replace('_', ' ')}
        {video.needs_decision && ': somebody has to decide about a lost submit'}
      </p>
      <progress max={100} value={video.progress} />
      {video.error && (
        <p>
          {video.error.message} {video.error.advice}
        </p>
      )}
      {/* Without crossOrigin, the browser hides a video of another origin from this page. */}
      {src && <video src={src} crossOrigin="anonymous" onError={renew} controls autoPlay muted loop />}
    </section>
  );
}

function Page({ gateway }: { gateway: string }) {
  const [id, setId] = useState('');
  const [problem, setProblem] = useState('');
  const [isOrdering, setIsOrdering] = useState(false);
  const order = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const prompt = String(new FormData(event.currentTarget).get('prompt'));
    setIsOrdering(true);
    setProblem('');
    try {
      setId((await post('/videos', { prompt, duration: 5 })).id);
    } catch (error) {
      setProblem(String(error));
    }
    setIsOrdering(false);
  };
  return (
    <main>
      <form onSubmit={order}>
        <label>
          Prompt <input name="prompt" defaultValue="A red fox in the snow" required />
        </label>
        <button type="submit" disabled={isOrdering}>
          Make it
        </button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {id && <Progress key={id} gateway={gateway} id={id} />}
    </main>
  );
}

const root = document.getElementById('root');
if (root) createRoot(root).render(<Page gateway={root.dataset.gateway ?? ''} />);

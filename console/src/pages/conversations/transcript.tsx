import { useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import type { Item, Turn } from './conversation-answers.ts';
import { describeItem, type Piece } from './describe-item.ts';

/** The turns of a conversation, the oldest first. */
export const Transcript = ({ turns }: { readonly turns: readonly Turn[] }) => (
  <ol class="transcript">
    {turns.map((turn) => (
      <li key={turn.id}>
        {turn.error === null ? null : <p class="note note-bad">{turn.error}</p>}
        {turn.items.map((item) => (
          <ItemView key={item.id} item={item} />
        ))}
        {turn.response_id === null ? null : <p class="hint">{turn.response_id}</p>}
      </li>
    ))}
  </ol>
);

const ItemView = ({ item }: { readonly item: Item }) => {
  const { title, tone, pieces, isFolded } = describeItem(item);
  const content = [...pieces.entries()].map(([place, piece]) => (
    <PieceView key={place} piece={piece} title={title} />
  ));
  return isFolded ? (
    <details class={`item item-${tone}`}>
      <summary>{title}</summary>
      {content}
    </details>
  ) : (
    <article class={`item item-${tone}`}>
      <h3>{title}</h3>
      {content}
    </article>
  );
};

/** More would make the page slow. */
const SHOWN_CHARS = 20_000;

const PieceView = ({ piece, title }: { readonly piece: Piece; readonly title: string }) => {
  const [isWhole, setIsWhole] = useState(false);
  if (piece.kind === 'image') return <img src={piece.url} alt={`Attachment: ${title}`} loading="lazy" />;
  const isCut = !isWhole && piece.text.length > SHOWN_CHARS;
  const text = isCut ? `${piece.text.slice(0, SHOWN_CHARS)}…` : piece.text;
  return (
    <>
      {piece.kind === 'code' ? (
        <pre class="item-code" tabIndex={0} role="region" aria-label={title}>
          <code>{text}</code>
        </pre>
      ) : (
        <p class="item-text">{text}</p>
      )}
      {isCut ? (
        <div>
          <Button onPress={() => setIsWhole(true)}>
            Show all {piece.text.length.toLocaleString('en')} characters
          </Button>
        </div>
      ) : null}
    </>
  );
};

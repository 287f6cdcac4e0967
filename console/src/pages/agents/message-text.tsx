import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';

import { blocksOf, inlinesOf, type MarkdownBlock } from './markdown.ts';

/** The text of a model with its code, lists and headings. Nothing in it is HTML, and nothing is loaded. */
export const MessageText = ({ text }: { readonly text: string }) => {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div class="prose">
      {blocks.map((block, index) => (
        // Blocks are only added at the end.
        // oxlint-disable-next-line react/no-array-index-key
        <Block key={index} block={block} />
      ))}
    </div>
  );
};

const Block = ({ block }: { readonly block: MarkdownBlock }) => {
  switch (block.kind) {
    case 'code':
      return (
        <pre class="prose-code" tabIndex={0} role="region" aria-label={`Code ${block.language}`.trim()}>
          {block.text}
        </pre>
      );
    case 'heading':
      return (
        <p class="prose-heading">
          <Inlines text={block.text} />
        </p>
      );
    case 'list':
      return <List block={block} />;
    case 'text':
      return (
        <p>
          <Inlines text={block.text} />
        </p>
      );
    default:
      return block satisfies never;
  }
};

const List = ({ block }: { readonly block: Extract<MarkdownBlock, { readonly kind: 'list' }> }) => {
  const items = block.items.map(({ text, depth }, index) => (
    // oxlint-disable-next-line react/no-array-index-key
    <li key={index} class={`prose-depth-${depth}`}>
      <Inlines text={text} />
    </li>
  ));
  return block.isOrdered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
};

const Inlines = ({ text }: { readonly text: string }) => (
  <>
    {inlinesOf(text).map((piece): ComponentChildren => {
      const { id, text: words } = piece;
      if (piece.kind === 'link')
        return (
          <a key={id} href={piece.href} target="_blank" rel="noreferrer noopener" title={piece.href}>
            {words}
          </a>
        );
      if (piece.kind === 'code') return <code key={id}>{words}</code>;
      return piece.kind === 'strong' ? <strong key={id}>{words}</strong> : words;
    })}
  </>
);

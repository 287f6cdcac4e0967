import { useEffect, useState } from 'preact/hooks';

import { Icon } from './icon.tsx';

interface CopyProps {
  readonly text: string;
  /** What is copied, for screen readers: `Copy the base URL`. */
  readonly label: string;
}

type State = 'copied' | 'failed' | 'idle';
const SHOWN_MS = 2000;
const TEXT = { idle: 'Copy', copied: 'Copied', failed: 'Select and copy' };

/** Browsers allow the clipboard only on HTTPS and on this machine; elsewhere the button says so. */
export const CopyButton = ({ text, label }: CopyProps) => {
  const [state, setState] = useState<State>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      setState('failed');
    }
  };
  return (
    <button
      type="button"
      class="button button-quiet button-copy"
      aria-label={label}
      onClick={() => void copy()}
    >
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{TEXT[state]}</span>
    </button>
  );
};

/** Code or a command with a button that copies it. */
export const CodeBlock = ({ text, label }: CopyProps) => (
  <div class="code-block">
    {/* Long lines scroll sideways, also with the keyboard. */}
    <pre tabIndex={0} aria-label={label.replace(/^Copy /, '')} role="region">
      <code>{text}</code>
    </pre>
    <CopyButton text={text} label={label} />
  </div>
);

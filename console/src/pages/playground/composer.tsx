import { useEffect, useRef, useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { outputOf, userMessage, type Item, type ToolCall } from './items.ts';

interface ComposerProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly isRunning: boolean;
  readonly isDisabled: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

export interface Draft {
  readonly text: string;
  readonly images: readonly DraftImage[];
}

interface DraftImage {
  readonly id: number;
  /** A data URL. */
  readonly url: string;
}

export const EMPTY_DRAFT: Draft = { text: '', images: [] };

/** The message that a draft becomes; none without content. */
export const itemsOf = ({ text, images }: Draft): readonly Item[] =>
  text.trim() === '' && images.length === 0
    ? []
    : [
        userMessage(
          text,
          images.map(({ url }) => url),
        ),
      ];

/** Moves the focus to the first field of a form that replaces the one that had it. */
const useFocusAtStart = () => {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) form.current?.querySelector('textarea')?.focus();
  }, []);
  return form;
};

/** Where the next message is written. */
export const Composer = ({ draft, onDraft, isRunning, isDisabled, onSend, onStop }: ComposerProps) => {
  const [problem, setProblem] = useState<string | null>(null);
  const form = useFocusAtStart();
  const addImages = async (files: readonly File[]): Promise<void> => {
    setProblem(null);
    try {
      const urls = await Promise.all(files.map(dataUrl));
      const first = (draft.images.at(-1)?.id ?? 0) + 1;
      const images = urls.map((url, index) => ({ id: first + index, url }));
      onDraft({ ...draft, images: [...draft.images, ...images] });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form
      class="composer"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <Field label="Message" hint="Ctrl or ⌘ and Enter sends it.">
        {(control) => (
          <textarea
            {...control}
            rows={3}
            value={draft.text}
            onInput={(event) => onDraft({ ...draft, text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || isRunning || isDisabled)
                return;
              event.preventDefault();
              onSend();
            }}
          />
        )}
      </Field>
      <Field label="Images" error={problem}>
        {(control) => (
          <input
            {...control}
            type="file"
            accept="image/png,image/jpeg,image/gif,image/webp"
            multiple
            onChange={(event) => {
              const files = [...(event.currentTarget.files ?? [])];
              // The same file can be chosen again.
              event.currentTarget.value = '';
              void addImages(files);
            }}
          />
        )}
      </Field>
      {draft.images.length === 0 ? null : (
        <ul class="chat-thumbs">
          {draft.images.map(({ id, url }) => (
            <li key={id}>
              <img src={url} alt={`Attachment ${id}`} />
              <Button
                kind="quiet"
                onPress={() => onDraft({ ...draft, images: draft.images.filter((one) => one.id !== id) })}
                label={`Remove attachment ${id}`}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div class="actions">
        {isRunning ? (
          <Button kind="danger" onPress={onStop}>
            Stop
          </Button>
        ) : null}
        <Button kind="primary" type="submit" isDisabled={isRunning || isDisabled}>
          Send
        </Button>
      </div>
    </form>
  );
};

/** Larger ones do not fit into a request with the usual limits. */
const MAX_IMAGE_BYTES = 15 * 1024 * 1024;

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    if (file.size > MAX_IMAGE_BYTES) {
      reject(new Error(`${file.name} has more than 15 MB.`));
      return;
    }
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(new Error(`${file.name} could not be read.`)));
    reader.readAsDataURL(file);
  });

interface OutputsProps {
  readonly calls: readonly ToolCall[];
  readonly onSend: (outputs: readonly Item[]) => void;
}

/** Asks for the outputs of the tools that the model has called. */
export const ToolOutputs = ({ calls, onSend }: OutputsProps) => {
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  const form = useFocusAtStart();
  return (
    <form
      class="composer"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        onSend(calls.map((call) => outputOf(call, outputs[call.callId] ?? '')));
      }}
    >
      {calls.map(({ callId, name }) => (
        <Field key={callId} label={`Output of ${name}`}>
          {(control) => (
            <textarea
              {...control}
              rows={2}
              value={outputs[callId] ?? ''}
              onInput={(event) => setOutputs({ ...outputs, [callId]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
      <div class="actions">
        <Button kind="primary" type="submit">
          Send outputs
        </Button>
      </div>
    </form>
  );
};

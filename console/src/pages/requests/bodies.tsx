import { indented } from '../../format/indented.ts';
import { Card } from '../../components/card.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { whole } from '../../format/numbers.ts';
import { CaptureButton } from './capture-dialog.tsx';
import type { Capture, ShownBody } from './request-answers.ts';

/** What the client sent and what was sent to the backend, side by side where there is room. */
export const Bodies = ({ capture, keyId }: { readonly capture: Capture; readonly keyId: string }) => {
  if (capture.status === 'missing') {
    return (
      <Card title="Bodies">
        <p class="hint">{capture.message}</p>
        <CaptureButton keyId={keyId} />
      </Card>
    );
  }
  const requests = capture.model_requests.map((body, place, all) => ({
    body,
    label: all.length === 1 ? 'Copy the model request' : `Copy model request ${place + 1}`,
  }));
  return (
    <div class="grid bodies">
      <Card title="The client sent">
        {capture.client_body === null ? (
          <p class="hint">The body could not be read, or is too large to be shown.</p>
        ) : (
          <Body body={capture.client_body} label="Copy the body of the client" />
        )}
      </Card>
      <Card title="The backend got">
        {requests.length === 0 ? <p class="hint">Nothing was sent to the backend.</p> : null}
        {requests.map(({ body, label }) => (
          <Body key={label} body={body} label={label} />
        ))}
        {capture.partial ? <p class="hint">Parts of the capture are too large to be shown.</p> : null}
      </Card>
    </div>
  );
};

const Body = ({ body, label }: { readonly body: ShownBody; readonly label: string }) => (
  <>
    <CodeBlock text={body.truncated ? body.text : indented(body.text)} label={label} />
    {body.truncated ? <p class="hint">The beginning of {whole(body.chars)} characters.</p> : null}
  </>
);

/** The request as a command, with a placeholder for the key; null: its body is not known. */
export const asCurl = (capture: Capture, origin: string): string | null => {
  if (capture.status === 'missing' || capture.client_body === null || capture.client_body.truncated)
    return null;
  // For a POSIX shell: nothing in single quotes is special but the quote itself.
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl ${quoted(origin + capture.path)} --no-buffer \\`,
    `  -H 'Authorization: Bearer YOUR_API_KEY' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(capture.client_body.text)}`,
  ].join('\n');
};

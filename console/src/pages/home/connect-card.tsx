import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Card } from '../../components/card.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { Field } from '../../components/field.tsx';
import { Loaded } from '../../components/states.tsx';

/** `GET /v1/codex/clients`. */
interface Clients {
  readonly data: readonly Client[];
}

interface Client {
  readonly id: string;
  readonly title: string;
  readonly page: string | null;
  readonly command: string;
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly shell: string | null;
  readonly try_it: string;
}

/** How to connect a client, from the table of the command `connect`. */
export const ConnectCard = () => {
  const clients = useResource('clients', (signal) => api.get<Clients>('/v1/codex/clients', signal));
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <Card title="Connect a client" isWide>
      <CodeBlock text={`${window.location.origin}/v1`} label="Copy the base URL" />
      <Loaded of={clients}>
        {({ data }) => {
          const client = data.find(({ id }) => id === chosen) ?? data[0];
          return client === undefined ? null : (
            <>
              <Field label="Client">
                {(control) => (
                  <select
                    {...control}
                    value={client.id}
                    onChange={(event) => setChosen(event.currentTarget.value)}
                  >
                    {data.map(({ id, title }) => (
                      <option key={id} value={id}>
                        {title}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
              <HowTo client={client} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
};

const HowTo = ({ client }: { readonly client: Client }) => (
  <div class="how-to">
    <h3>With a command</h3>
    <p class="hint">
      Shows what it changes, and asks. It takes the key from PROXY_API_KEY, or finds it on this machine.
    </p>
    <CodeBlock text={client.command} label="Copy the command" />
    {client.files.map(({ path, content }) => (
      <>
        <h3>By hand, in {path}</h3>
        <CodeBlock text={content.trimEnd()} label={`Copy the settings for ${path}`} />
      </>
    ))}
    {client.shell === null ? null : (
      <>
        <h3>With variables</h3>
        <CodeBlock text={client.shell.trimEnd()} label="Copy the variables" />
      </>
    )}
    <h3>Try it</h3>
    <CodeBlock text={client.try_it} label="Copy the first command" />
    {client.page === null ? null : (
      <p>
        <a href={`/docs/${client.page}`}>More about {client.title}</a>
      </p>
    )}
  </div>
);

import { type ConnectClient, type ServerFacts, shellLines } from './client.ts';
import { CLIENTS } from './clients.ts';
import { snippetOf } from './formats.ts';

/** How to connect a client, for people who read it elsewhere than in a terminal. */
export interface DescribedClient {
  /** The name that the command `connect` takes. */
  readonly id: string;
  readonly title: string;
  /** Its page below `docs`; null for programs in general. */
  readonly page: string | null;
  /** The settings files of the client, with what they need. Empty: it takes variables only. */
  readonly files: readonly { readonly path: string; readonly format: string; readonly content: string }[];
  /** Lines for a POSIX shell; null: variables alone do not connect it. */
  readonly shell: string | null;
  /** A command line to try it with. */
  readonly tryIt: string;
}

/** Every client of `connect`, as it is set up for this server. The key of the facts is shown. */
export const describeClients = (server: ServerFacts): readonly DescribedClient[] =>
  Object.entries<ConnectClient>(CLIENTS).map(([id, client]) => {
    const run = client.run(server);
    return {
      id,
      title: client.title,
      page: client.page === null ? null : `clients/${client.page}`,
      files: client.files(server).map((file) => ({
        path: `~/${file.place.folder}/${file.place.name}`,
        format: file.format,
        content: snippetOf(file),
      })),
      shell: run === null || run.words.length > 0 ? null : shellLines(run.variables, 'posix'),
      tryIt: client.tryIt,
    };
  });

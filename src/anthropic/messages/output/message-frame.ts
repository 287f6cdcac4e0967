import type { Frame } from '../../../turns/api.ts';

type Data = Readonly<Record<string, unknown>> & { readonly type: string };

/** An event of a stream, named by its type. */
export const messageFrame = (data: Data): Frame => ({ event: data.type, data });

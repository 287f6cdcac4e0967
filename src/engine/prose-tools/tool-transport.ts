import { fitsWildcard } from '../../kit/text/wildcard.ts';

/** How a backend is told of tools: they are declared, or explained in a message. */
export type ToolTransport = 'native' | 'prose';

/** What holds for the models whose names look like this. */
export interface TransportRule {
  readonly pattern: string;
  readonly choice: ToolTransport;
}

/** The first rule that fits a model counts. */
export const transportFor = (rules: readonly TransportRule[], model: string): ToolTransport =>
  rules.find(({ pattern }) => fitsWildcard(pattern, model))?.choice ?? 'native';

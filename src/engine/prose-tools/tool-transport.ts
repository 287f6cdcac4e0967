import { fitsWildcard } from '../../kit/text/patterns.ts';

/** How tools reach a backend: declared, or described in a message. */
export type ToolTransport = 'native' | 'prose';

/** The transport for models whose names match the pattern. */
export interface TransportRule {
  readonly pattern: string;
  readonly choice: ToolTransport;
}

/** The first matching rule counts. */
export const transportFor = (rules: readonly TransportRule[], model: string): ToolTransport =>
  rules.find(({ pattern }) => fitsWildcard(pattern, model))?.choice ?? 'native';

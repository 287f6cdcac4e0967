/** Reasoning efforts, from least to most. Models support some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;

export type Effort = (typeof EFFORTS)[number];

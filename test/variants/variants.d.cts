import type { DataConverter } from '@temporalio/common';
import type { WorkerOptions } from '@temporalio/worker';

interface Variant {
  what: string;
  dataConverter?(given: DataConverter): DataConverter;
  worker?(): Partial<WorkerOptions>;
}

declare const variants: Record<string, Variant>;
export = variants;

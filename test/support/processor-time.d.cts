/** The processor time of this process and, where there is /proc, of its children. */
export function processorMs(): number;

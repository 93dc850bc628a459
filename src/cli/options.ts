/** The options of each command, as commander passes them. */

export interface GenerateOptions {
  imageUrl?: string;
  image?: string;
  resolution?: string;
  aspectRatio?: string;
  duration?: string;
  seed?: string;
  out?: string;
  id?: string;
  json?: boolean;
  wait: boolean;
  deadline?: string;
  adopt?: string;
  field?: string[];
  onLostSubmit?: string;
  holdFor?: string;
  storage?: string;
  cap?: string[];
  service?: string;
}

export interface DevOptions {
  port?: string;
  uiPort?: string;
  gatewayPort?: string;
  fault?: string[];
}

export interface WorkerCommandOptions {
  monitorPort?: string;
  record?: string;
  only?: string[];
}

export interface ExplainOptions {
  status: string;
  /** A file with the body of a request. */
  request?: string;
  service?: string;
  json?: boolean;
}

export interface EmulatorCommandOptions {
  host?: string;
  port: string;
  jobTime: string;
  concurrentTasks?: string;
  tasksFile?: string;
  honourKeys?: boolean;
  fault?: string[];
  charge?: string;
  chaos?: string;
  chaosSeed?: string;
}

export interface GatewayCommandOptions {
  host?: string;
  port: string;
  monitorPort?: string;
}

export interface GatewayKeyOptions {
  file?: string;
  ifMissing?: boolean;
}

export interface EncryptionKeyOptions {
  file?: string;
  last?: boolean;
}

export interface DoctorOptions {
  register?: boolean;
  json?: boolean;
}

/** Installs the packages of the AI SDK into test/ai-sdk, unless they are there. */
declare function installAiSdkPackages(): Promise<void>;
export = installAiSdkPackages;

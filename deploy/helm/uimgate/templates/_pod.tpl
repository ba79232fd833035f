{{/* The template of the pods, for the StatefulSet and the Deployment. */}}
{{- define "uimgate.pod" -}}
metadata:
  labels:
    {{- include "uimgate.labels" (dict "root" . "component" "gateway") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.podAnnotations .Values.restartOnChange }}
  annotations:
    {{- if .Values.restartOnChange }}
    checksum/config: {{ list (include "uimgate.config" .) .Values.files | toJson | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  serviceAccountName: {{ include "uimgate.serviceAccountName" . }}
  automountServiceAccountToken: false
  # A Service named uimgate would set variables UIMGATE_….
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 2 }}
  {{- end }}
  securityContext:
    {{- include "uimgate.podSecurityContext" . | nindent 4 }}
    fsGroup: 65532
    # The gateway refuses a data directory, or a key, that its group may use. With Always, each start of a pod would open them to it.
    fsGroupChangePolicy: OnRootMismatch
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  # The pause, the drain timeout three times (for requests, for messages of doors and for unstored outcomes), and the time to close the store.
  terminationGracePeriodSeconds: {{ add (int .Values.shutdown.pauseSeconds) (mul 3 (int .Values.shutdown.drainSeconds)) 15 }}
  containers:
  - name: uimgate
    image: {{ include "uimgate.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args: [serve, -c, /etc/uimgate/uimgate.yaml]
    env:
    # The image sets these two, and they have precedence over the file.
    - {name: UIMGATE_DATA, value: {{ include "uimgate.data" . }}}
    - {name: UIMGATE_LISTEN, value: {{ ternary ":8080" ":8443" (eq .Values.tls.mode "none") | quote }}}
    {{- with include "uimgate.memoryLimit" . }}
    - {name: GOMEMLIMIT, value: {{ . | quote }}}
    {{- end }}
    {{- with .Values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    ports:
    {{- range include "uimgate.ports" . | fromJsonArray }}
    - {name: {{ .name }}, containerPort: {{ .port }}, protocol: TCP}
    {{- end }}
    - {name: telemetry, containerPort: {{ include "uimgate.telemetryPort" . }}, protocol: TCP}
    startupProbe:
      httpGet: {path: /healthz, port: telemetry}
      {{- toYaml .Values.probes.startup | nindent 6 }}
    livenessProbe:
      httpGet: {path: /healthz, port: telemetry}
      {{- toYaml .Values.probes.liveness | nindent 6 }}
    readinessProbe:
      httpGet: {path: /readyz, port: telemetry}
      {{- toYaml .Values.probes.readiness | nindent 6 }}
    {{- if gt (int .Values.shutdown.pauseSeconds) 0 }}
    lifecycle:
      preStop: {sleep: {seconds: {{ int .Values.shutdown.pauseSeconds }}}}
    {{- end }}
    {{- with .Values.resources }}
    resources: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext: {{- include "uimgate.securityContext" . | nindent 6 }}
    volumeMounts:
    - {name: data, mountPath: /var/lib/uimgate}
    - {name: tmp, mountPath: /tmp}
    # The whole directory: a mount of single files would never change.
    - {name: config, mountPath: /etc/uimgate, readOnly: true}
    {{- if and (eq .Values.store.type "postgres") .Values.store.postgres.existingSecret }}
    - {name: store, mountPath: /run/secrets/store, readOnly: true}
    {{- end }}
    {{- if eq .Values.tls.mode "secret" }}
    - {name: tls, mountPath: /run/secrets/tls, readOnly: true}
    {{- end }}
    {{- range $i, $name := .Values.secrets }}
    - {name: secret-{{ $i }}, mountPath: /run/secrets/uimgate/{{ $name }}, readOnly: true}
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
  - name: config
    projected:
      sources:
      - configMap: {name: {{ include "uimgate.fullname" . }}}
      {{- range .Values.configMaps }}
      - configMap: {name: {{ . }}}
      {{- end }}
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
  {{- if not .Values.persistence.enabled }}
  - name: data
    emptyDir: {sizeLimit: {{ .Values.persistence.size }}}
  {{- else if .Values.persistence.existingClaim }}
  - name: data
    persistentVolumeClaim: {claimName: {{ .Values.persistence.existingClaim }}}
  {{- end }}
  {{- if and (eq .Values.store.type "postgres") .Values.store.postgres.existingSecret }}
  - name: store
    secret: {secretName: {{ .Values.store.postgres.existingSecret }}, defaultMode: 0440}
  {{- end }}
  {{- if eq .Values.tls.mode "secret" }}
  - name: tls
    secret: {secretName: {{ .Values.tls.existingSecret }}, defaultMode: 0440}
  {{- end }}
  {{- range $i, $name := .Values.secrets }}
  - name: secret-{{ $i }}
    secret: {secretName: {{ $name }}, defaultMode: 0440}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
  {{- else if gt (int .Values.replicas) 1 }}
  topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "uimgate.selector" $ | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end -}}

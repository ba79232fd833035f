{{/* Names leave room for suffixes of ten characters. */}}
{{- define "uimgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "uimgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "uimgate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "uimgate.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "uimgate.telemetryName" -}}
{{ include "uimgate.fullname" . }}-telemetry
{{- end -}}

{{- define "uimgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "uimgate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The labels by which Services and others find the pods. They never change. */}}
{{- define "uimgate.selector" -}}
app.kubernetes.io/name: {{ include "uimgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{/* The labels of an object: (dict "root" $ "component" "gateway"). */}}
{{- define "uimgate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "uimgate.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "uimgate.image" -}}
{{- $repository := required "image.repository is required: no image is published yet. Build deploy/image/Dockerfile, push it, and name it here" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "uimgate.kind" -}}
{{ ternary "StatefulSet" "Deployment" .Values.persistence.enabled }}
{{- end -}}

{{/* The data directory lies in the volume: the volume itself belongs to root and its group may write to it, which the gateway refuses. */}}
{{- define "uimgate.data" -}}
/var/lib/uimgate/data
{{- end -}}

{{/* The ports for agents, as a list in JSON: name, port of the container, port of the Service. */}}
{{- define "uimgate.ports" -}}
{{- $ports := list -}}
{{- $acme := dig "server" "tls" "acme" dict .Values.config -}}
{{- if ne .Values.tls.mode "none" -}}
{{- $ports = append $ports (dict "name" "https" "port" 8443 "service" .Values.service.httpsPort) -}}
{{- end -}}
{{- if or (eq .Values.tls.mode "none") (and (eq .Values.tls.mode "acme") (not (hasKey $acme "dns"))) -}}
{{- $ports = append $ports (dict "name" "http" "port" 8080 "service" .Values.service.httpPort) -}}
{{- end -}}
{{- range .Values.extraPorts -}}
{{- $ports = append $ports (dict "name" .name "port" .port "service" (get . "servicePort" | default .port)) -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{- define "uimgate.telemetryPort" -}}8082{{- end -}}

{{/* The Service's port for an Ingress or a route, which go to the gateway by HTTP or HTTPS. */}}
{{- define "uimgate.routedPort" -}}
{{ ternary .Values.service.httpPort .Values.service.httpsPort (eq .Values.tls.mode "none") }}
{{- end -}}

{{/* The names of all services, as a list in JSON. */}}
{{- define "uimgate.hosts" -}}
{{- $hosts := list -}}
{{- range .Values.config.services -}}
{{- $hosts = append $hosts (get (urlParse .public_url) "hostname") -}}
{{- $hosts = concat $hosts (get . "hosts" | default list) -}}
{{- end -}}
{{- uniq $hosts | toJson -}}
{{- end -}}

{{/* Checks for which the schema has no helpful message. */}}
{{- define "uimgate.validate" -}}
{{- $config := .Values.config -}}
{{- if not (get $config "services") -}}
{{- fail "config.services is empty: name at least one service, as docs/operate/kubernetes.md does" -}}
{{- end -}}
{{- range $i, $service := $config.services -}}
{{- if not (get $service "public_url") -}}
{{- fail (printf "config.services[%d].public_url is required: the https URL under which agents reach the service" $i) -}}
{{- end -}}
{{- range $key := list "agents_file" "policy_file" "policy_rego" -}}
{{- $file := get $service $key | toString -}}
{{- if and $file (not (hasPrefix "/" $file)) (not $.Values.configMaps) (not (hasKey $.Values.files $file)) -}}
{{- fail (printf "config.services[%d].%s names %s, which is not in files: add it there, or name its ConfigMap in configMaps" $i $key $file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $path, $instead := dict "data" "use persistence" "store" "use store" "server.listen" "use tls.mode" "server.drain_timeout" "use shutdown.drainSeconds" "server.tls.cert" "use tls.existingSecret" "server.tls.key" "use tls.existingSecret" "server.tls.acme.http" "use service.httpPort" "telemetry.listen" "remove it" -}}
{{- $at := $config -}}
{{- $found := true -}}
{{- range splitList "." $path -}}
{{- if and (kindIs "map" $at) (hasKey $at .) -}}
{{- $at = get $at . -}}
{{- else -}}
{{- $found = false -}}
{{- $at = dict -}}
{{- end -}}
{{- end -}}
{{- if $found -}}
{{- fail (printf "config.%s is set by the chart: %s" $path $instead) -}}
{{- end -}}
{{- end -}}
{{- $acme := dig "server" "tls" "acme" dict $config -}}
{{- if and (eq .Values.tls.mode "acme") (ne true (get $acme "agree")) -}}
{{- fail "config.server.tls.acme.agree must be true with tls.mode acme: it means that you agree to the subscriber agreement of the CA" -}}
{{- end -}}
{{- if and (ne .Values.tls.mode "acme") $acme -}}
{{- fail "config.server.tls.acme needs tls.mode: acme" -}}
{{- end -}}
{{- end -}}

{{/* uimgate.yaml */}}
{{- define "uimgate.config" -}}
{{- include "uimgate.validate" . -}}
{{- $config := deepCopy .Values.config -}}
{{- $server := get $config "server" | default dict -}}
{{- $tls := get $server "tls" | default dict -}}
{{- $telemetry := get $config "telemetry" | default dict -}}
{{- $_ := set $config "data" (include "uimgate.data" .) -}}
{{- if eq .Values.store.type "postgres" -}}
{{- $_ = set $config "store" (.Values.store.postgres.url | default (printf "${file:/run/secrets/store/%s}" .Values.store.postgres.key)) -}}
{{- else -}}
{{- $_ = set $config "store" "sqlite" -}}
{{- end -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- $_ = set $tls "cert" "/run/secrets/tls/tls.crt" -}}
{{- $_ = set $tls "key" "/run/secrets/tls/tls.key" -}}
{{- else if and (eq .Values.tls.mode "acme") (not (hasKey (get $tls "acme") "dns")) -}}
{{- $_ = set (get $tls "acme") "http" ":8080" -}}
{{- end -}}
{{- if $tls -}}
{{- $_ = set $server "tls" $tls -}}
{{- end -}}
{{- $_ = set $server "listen" (ternary ":8080" ":8443" (eq .Values.tls.mode "none")) -}}
{{- $_ = set $server "drain_timeout" (printf "%ds" (int .Values.shutdown.drainSeconds)) -}}
{{- $_ = set $telemetry "listen" (printf ":%s" (include "uimgate.telemetryPort" .)) -}}
{{- $_ = set $config "server" $server -}}
{{- $_ = set $config "telemetry" $telemetry -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Nine tenths of the limit of memory, in bytes; empty if it is not a whole number of Ki, Mi or Gi: the gateway then reads its cgroup. */}}
{{- define "uimgate.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $number := regexFind "^[0-9]+" $limit -}}
{{- $unit := trimPrefix $number $limit -}}
{{- if and $number (hasKey $units $unit) -}}
{{- div (mul (int64 $number) (get $units $unit) 9) 10 -}}
{{- end -}}
{{- end -}}

{{- define "uimgate.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "uimgate.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}
